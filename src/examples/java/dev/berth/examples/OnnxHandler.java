package dev.berth.examples;

import ai.onnxruntime.OrtException;
import dev.berth.api.BlockingHandler;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import java.util.Map;

/**
 * Serves an ONNX model. Copy it with {@link OnnxModel}, {@link Tensor} and {@link BadInput}, and
 * extend it with the form of your requests and responses.
 *
 * <p>Create one handler per replica, {@code Deployment.of("digits", replica -> …)}, so that each
 * has its own session. The replica accepts requests after a first run of its model. Input that does
 * not fit the model is a 400 that names the expected one.
 *
 * <p>The slots of a replica share its session. With {@code threads} of the model at 1, each slot
 * uses one core. Replicas times slots should therefore be the number of cores or slightly more.
 */
abstract class OnnxHandler implements BlockingHandler {
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

  @Override
  public final void start() throws OrtException {
    model.warmUp();
  }

  @Override
  public Response handle(Request request, RequestContext context) throws OrtException {
    Map<String, Tensor> inputs;
    try {
      inputs = read(request);
      model.check(inputs);
    } catch (BadInput bad) {
      return bad.toResponse();
    }
    return write(model.run(inputs));
  }

  @Override
  public final void stop() throws OrtException {
    model.close();
  }
}
