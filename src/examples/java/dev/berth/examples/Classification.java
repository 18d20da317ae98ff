package dev.berth.examples;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;

/**
 * The digit that a model recognised, with its confidence.
 *
 * @param digit most likely digit; the lower one of two equally likely digits
 * @param confidence probability of that digit
 * @param probabilities of the digits 0 to 9
 */
record Classification(int digit, float confidence, JsonArray probabilities) {

  static Classification of(float[] probabilities) {
    int likeliest = 0;
    JsonArray all = new JsonArray();
    for (int digit = 0; digit < probabilities.length; digit++) {
      all.add(probabilities[digit]);
      if (probabilities[digit] > probabilities[likeliest]) {
        likeliest = digit;
      }
    }
    return new Classification(likeliest, probabilities[likeliest], all);
  }

  /** Returns {@code {"digit":7,"confidence":0.99,"probabilities":[…ten…]}}. */
  String toJson() {
    return new JsonObject()
        .put("digit", digit)
        .put("confidence", confidence)
        .put("probabilities", probabilities)
        .encode();
  }
}
