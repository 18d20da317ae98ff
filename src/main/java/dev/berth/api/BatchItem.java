package dev.berth.api;

/**
 * A request in a batch.
 *
 * @param request the request, with its whole body
 * @param context its context; a cancel of one request leaves the batch running
 */
public record BatchItem(Request request, RequestContext context) {}
