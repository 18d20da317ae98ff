package dev.berth.upstream.client;

/**
 * The reason for the failure of an exchange.
 *
 * @param notRun whether the upstream cannot have begun: no byte of the request was written
 * @param reason text for logs and clients, without a header value
 */
public record UpstreamFailure(boolean notRun, String reason) {}
