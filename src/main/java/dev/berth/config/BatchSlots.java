package dev.berth.config;

import dev.berth.api.Deployment;
import dev.berth.config.batching.BatchingOptions;
import dev.berth.config.keys.Settings;

/** Rule that relates the slots of a replica to its batches. */
final class BatchSlots {
  private BatchSlots() {}

  /** Returns the default: enough slots for the batches, if there are any. */
  static Integer usual(Settings deployment) {
    Settings batching = deployment.find(DeploymentConfig.BATCHING);
    return batching == null
        ? Deployment.DEFAULT_MAX_ONGOING_REQUESTS
        : (int) Math.min(BatchingOptions.slots(batching), Deployment.MAX_ONGOING_REQUESTS_LIMIT);
  }

  /**
   * Requires slots for the batches of effective settings.
   *
   * @throws IllegalArgumentException when there are fewer
   */
  static void require(Settings said) {
    Settings batching = said.find(DeploymentConfig.BATCHING);
    Integer slots = said.get(DeploymentConfig.MAX_ONGOING_REQUESTS);
    if (batching != null && slots < BatchingOptions.slots(batching)) {
      throw DeploymentConfig.MAX_ONGOING_REQUESTS.refusal(
          slots.toString(),
          "at least max_batch_size x max_concurrent_batches, " + BatchingOptions.slots(batching));
    }
  }
}
