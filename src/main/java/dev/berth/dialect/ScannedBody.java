package dev.berth.dialect;

import org.jspecify.annotations.Nullable;

/**
 * The members of a request body that decide on its way.
 *
 * @param model the requested model
 * @param modelStart offset of the model's first byte, behind its quote
 * @param modelEnd offset of the quote that ends the model
 * @param stream whether {@code stream} is true
 * @param stores whether {@code store} is true
 * @param continues whether {@code previous_response_id} or {@code conversation} has a value
 * @param background whether {@code background} is true
 * @param usageEdit the edit that requests the token usage of a stream. Null if {@code stream} is
 *     not true, if the client requests the usage itself, or if {@code stream_options} is invalid
 */
public record ScannedBody(
    String model,
    int modelStart,
    int modelEnd,
    boolean stream,
    boolean stores,
    boolean continues,
    boolean background,
    @Nullable BodyEdit usageEdit) {}
