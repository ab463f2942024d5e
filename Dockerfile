# A static binary in an empty image: nothing to log into, nothing to patch but the gateway.
FROM rust:1.95.0-alpine AS build
RUN apk add --no-cache build-base linux-headers openssl-dev openssl-libs-static pkgconf
WORKDIR /build
COPY . .
RUN cargo build --locked --profile image --bin portcullis

FROM scratch
COPY --from=build /build/target/image/portcullis /usr/bin/portcullis
# Any number will do; it must not be 0 and needs no name.
USER 65532:65532
# The gate; the admin listener (8081 by default) is bound to loopback unless the policy says otherwise.
EXPOSE 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/portcullis"]
CMD ["run", "--policy", "/etc/portcullis/policy.yaml"]
