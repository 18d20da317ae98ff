package dev.berth.examples;

import ai.onnxruntime.OrtException;
import dev.berth.api.BlockingHandler;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import java.util.Map;

/**
 * Serves an ONNX model: to be copied with {@link OnnxModel}, {@link Tensor} and {@link BadInput},
 * and extended by what a request and an answer are.
 *
 * <p>Make one for each replica, {@code Deployment.of("digits", replica -> …)}, so that each has a
 * session of its own. The replica takes requests when its model has run once; what a model does not
 * take is a 400 that says what it takes. A replica's slots share its session: with {@code threads}
 * of the model at 1, a slot is a core, so replicas times slots is the number of cores or a little
 * more.
 */
abstract class OnnxHandler implements BlockingHandler {
  private final OnnxModel model;

  /** Closes the model when the replica stops. */
  OnnxHandler(OnnxModel model) {
    this.model = model;
  }

  /** The model's inputs by name, whose types and shapes need no look here. */
  abstract Map<String, Tensor> read(Request request) throws BadInput;

  /** The answer, of the model's outputs by name. */
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
