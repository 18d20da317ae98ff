package dev.berth.dialect;

import dev.berth.protocol.port.ModelHeader;

/**
 * The deployment of a model that a client may name.
 *
 * @param side index of the deployment in {@link ModelCatalog#deployments}
 * @param requested name or alias that the client used
 * @param name of the model
 * @param headerParts names of the model for the deployment and its fallbacks, for {@link
 *     ModelHeader}
 */
public record ModelTarget(int side, String requested, String name, String headerParts) {
  /** Returns the value of {@link ModelHeader#HEADER} for a body with the model at this place. */
  public String header(int start, int end) {
    return ModelHeader.value(start, end, headerParts);
  }
}
