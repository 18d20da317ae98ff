package dev.berth.dialect;

/**
 * The deployment of a model that a client may name.
 *
 * @param side index of the deployment in {@link ModelCatalog#deployments}
 * @param requested name or alias that the client used
 * @param name of the model
 * @param headerParts names of the model for the deployment and its fallbacks, for {@link
 *     dev.berth.protocol.port.ModelHeader}
 */
public record ModelTarget(int side, String requested, String name, String headerParts) {}
