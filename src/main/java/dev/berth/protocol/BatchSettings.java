package dev.berth.protocol;

import dev.berth.api.Headers;
import java.util.List;

/**
 * Rules of the batches of a deployment: {@code berth.batching}.
 *
 * @param maxSize maximum of requests in a batch; 1 or more
 * @param waitNanos maximum wait of a batch's oldest request for others
 * @param maxConcurrent batches that a replica runs at a time
 * @param eager whether an idle replica starts a batch at once
 * @param maxItems maximum of the sizes of the requests in a batch, by the handler's own measure
 * @param maxBytes maximum of their body bytes
 * @param preferredSizes sizes to which a batch is cut when its wait is over, ascending
 * @param same names of the headers whose values all requests of a batch share
 */
public record BatchSettings(
    int maxSize,
    long waitNanos,
    int maxConcurrent,
    boolean eager,
    int maxItems,
    long maxBytes,
    List<Integer> preferredSizes,
    List<String> same) {
  public BatchSettings {
    preferredSizes = preferredSizes.stream().sorted().toList();
    same = List.copyOf(same);
  }

  /** Returns the key of a request; only requests with equal keys share a batch. */
  public String keyOf(String method, Headers headers) {
    if (same.isEmpty()) {
      return method;
    }
    StringBuilder key = new StringBuilder(method);
    for (String name : same) { // neither a name nor a value has a line break
      key.append('\n').append(name);
      headers.all(name).forEach(value -> key.append('\r').append(value));
    }
    return key.toString();
  }

  /** Returns the method of a key. */
  public static String methodOf(String key) {
    int end = key.indexOf('\n');
    return end < 0 ? key : key.substring(0, end);
  }

  /** Returns the size of a batch with this number of waiting requests, at the end of the wait. */
  public int sizeFor(int waiting) {
    if (waiting >= maxSize) {
      return maxSize;
    }
    for (int i = preferredSizes.size() - 1; i >= 0; i--) {
      if (preferredSizes.get(i) <= waiting) {
        return preferredSizes.get(i);
      }
    }
    return waiting;
  }

  /** Returns whether the size of a batch is bounded by more than the number of its requests. */
  public boolean weighs() {
    return maxItems != Integer.MAX_VALUE || maxBytes != Long.MAX_VALUE;
  }
}
