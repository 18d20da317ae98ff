package dev.berth.examples;

import ai.onnxruntime.OrtException;
import dev.berth.api.Request;
import dev.berth.api.Response;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Serves an ONNX model. Copy it with {@link OnnxModel}, {@link Tensor} and {@link BadInput}, and
 * extend it with the form of your requests and responses. A subclass is a {@link
 * dev.berth.api.BlockingHandler} or a {@link dev.berth.api.BatchHandler}.
 *
 * <p>Create one handler per replica, {@code Deployment.of("digits", replica -> …)}, so that each
 * has its own session. The replica accepts requests after a first run of its model. Input that does
 * not fit the model is a 400 that names the expected one.
 *
 * <p>The slots of a replica share its session. With {@code threads} of the model at 1, each slot
 * uses one core. Replicas times slots should therefore be the number of cores or slightly more.
 */
abstract class OnnxHandler {
  private final OnnxModel model;

  /** Creates a handler that closes the model when the replica stops. */
  OnnxHandler(OnnxModel model) {
    this.model = model;
  }

  /**
   * Converts a request to the model's inputs, by name; the caller checks their types and shapes.
   */
  abstract Map<String, Tensor> read(Request request) throws BadInput;

  /** Converts the model's outputs, by name, to a response. */
  abstract Response write(Map<String, Tensor> outputs);

  final OnnxModel model() {
    return model;
  }

  /** Runs the model once, before the first request. */
  public final void start() throws OrtException {
    model.warmUp();
  }

  /** Returns the response to a request. */
  final Response answer(Request request) throws OrtException {
    return answerAll(List.of(request)).get(0);
  }

  /**
   * Returns the responses to requests, in their order. Requests that fit together share one run of
   * the model; one with bad input does not disturb the others.
   */
  final List<Response> answerAll(List<Request> requests) throws OrtException {
    Response[] answers = new Response[requests.size()];
    List<Map<String, Tensor>> inputs = new ArrayList<>(requests.size());
    List<Integer> places = new ArrayList<>(requests.size()); // of the inputs among the answers
    for (int i = 0; i < answers.length; i++) {
      try {
        Map<String, Tensor> input = read(requests.get(i));
        model.check(input);
        inputs.add(input);
        places.add(i);
      } catch (BadInput bad) {
        answers[i] = bad.toResponse();
      }
    }
    List<Map<String, Tensor>> outputs = model.runAll(inputs);
    for (int i = 0; i < outputs.size(); i++) {
      answers[places.get(i)] = write(outputs.get(i));
    }
    return List.of(answers);
  }

  /** Closes the model after its last run. */
  public final void stop() throws OrtException {
    model.close();
  }
}
