//! Path patterns: literal segments and `{name}` segments, matched against the canonical path of contract §14.

/// A declared path. `{name}` stands for exactly one non-empty segment; a trailing slash is significant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    text: String,
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Literal(String),
    Any,
}

impl PathPattern {
    /// Reads a pattern such as `/v1/tasks/{id}`.
    ///
    /// # Errors
    /// Says what is wrong: a pattern begins with `/`, has no empty inner segment, no dot segment and no character
    /// that the canonical path refuses, and `{name}` fills a whole segment.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let Some(rest) = text.strip_prefix('/') else {
            return Err("expected a path that begins with `/`");
        };
        let parts: Vec<&str> = rest.split('/').collect();
        let last = parts.len().saturating_sub(1);
        let mut segments = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            if part.is_empty() && index != last {
                return Err("expected no empty segment before the last");
            }
            if *part == "." || *part == ".." {
                return Err("expected no dot segment");
            }
            if let Some(name) = part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
                if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                    return Err("expected `{name}` with a name of letters, digits and `_`");
                }
                segments.push(Segment::Any);
            } else if part.bytes().all(is_path_byte) {
                segments.push(Segment::Literal((*part).to_owned()));
            } else {
                return Err("expected segments of RFC 3986 path characters, or `{name}` as a whole segment");
            }
        }
        Ok(Self {
            text: text.to_owned(),
            segments,
        })
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a canonical path is one of this pattern.
    pub fn matches(&self, path: &str) -> bool {
        let Some(rest) = path.strip_prefix('/') else {
            return false;
        };
        let mut parts = rest.split('/');
        let every = self.segments.iter().all(|segment| match (segment, parts.next()) {
            (Segment::Literal(literal), Some(part)) => literal == part,
            (Segment::Any, Some(part)) => !part.is_empty(),
            (Segment::Literal(_) | Segment::Any, None) => false,
        });
        every && parts.next().is_none()
    }

    /// Whether some path is one of both patterns, so that their order in the file would decide.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.segments.len() == other.segments.len()
            && self.segments.iter().zip(&other.segments).all(|pair| match pair {
                (Segment::Literal(left), Segment::Literal(right)) => left == right,
                (Segment::Any, Segment::Literal(literal)) | (Segment::Literal(literal), Segment::Any) => {
                    !literal.is_empty()
                }
                (Segment::Any, Segment::Any) => true,
            })
    }
}

/// The unreserved characters and sub-delimiters of RFC 3986 that a canonical path may carry unescaped, without `;`.
const fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'-' | b'.'
                | b'_'
                | b'~'
                | b'!'
                | b'$'
                | b'&'
                | b'\''
                | b'('
                | b')'
                | b'*'
                | b'+'
                | b','
                | b'='
                | b':'
                | b'@'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_segments_only() {
        let table = [
            ("/v1/messages", "/v1/messages", true),
            ("/v1/messages", "/v1/messages/", false),
            ("/v1/messages/", "/v1/messages/", true),
            ("/v1/tasks/{id}", "/v1/tasks/7", true),
            ("/v1/tasks/{id}", "/v1/tasks/", false),
            ("/v1/tasks/{id}", "/v1/tasks/7/x", false),
            ("/", "/", true),
        ];
        for (pattern, path, expected) in table {
            assert_eq!(
                PathPattern::parse(pattern).unwrap().matches(path),
                expected,
                "{pattern} {path}"
            );
        }
    }

    #[test]
    fn a_bad_pattern_is_refused() {
        for pattern in ["", "v1", "/a//b", "/a/../b", "/a;b", "/a/x{id}", "/a b", "/%2e"] {
            assert!(PathPattern::parse(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn overlap_is_seen() {
        let pattern = |text| PathPattern::parse(text).unwrap();
        assert!(pattern("/a/{x}").overlaps(&pattern("/a/b")));
        assert!(!pattern("/a/{x}").overlaps(&pattern("/a/")));
        assert!(!pattern("/a/b").overlaps(&pattern("/a/c")));
    }
}
