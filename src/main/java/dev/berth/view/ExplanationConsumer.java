package dev.berth.view;

/** Consumer of explained requests. Thread-safe; must not block. */
@FunctionalInterface
public interface ExplanationConsumer {
  /** Consumer that discards all records. */
  ExplanationConsumer NONE = explanation -> {};

  /** Called at the end of an explained request. */
  void explained(RequestExplanation explanation);

  /** Returns a consumer that passes each record to this consumer, and then to another. */
  default ExplanationConsumer and(ExplanationConsumer other) {
    return explanation -> {
      explained(explanation);
      other.explained(explanation);
    };
  }
}
