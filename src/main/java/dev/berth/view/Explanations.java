package dev.berth.view;

/** Takes the record of a request that asked to be explained. Any thread; must not block. */
@FunctionalInterface
public interface Explanations {
  /** Keeps nothing. */
  Explanations NONE = explanation -> {};

  /** The request is over. */
  void explained(RequestExplanation explanation);

  /** Gives each record to this one, then to another. */
  default Explanations and(Explanations other) {
    return explanation -> {
      explained(explanation);
      other.explained(explanation);
    };
  }
}
