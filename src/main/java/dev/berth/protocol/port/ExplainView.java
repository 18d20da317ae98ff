package dev.berth.protocol.port;

import dev.berth.protocol.RequestExplanation;
import java.util.List;

/** The records of requests that asked to be explained, while they are kept. Any thread. */
public interface ExplainView {
  /** What is kept of a request, and of those it made in turn; empty when there is nothing. */
  List<RequestExplanation> explanations(String requestId);
}
