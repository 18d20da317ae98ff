package dev.berth.examples;

import ai.onnxruntime.OrtException;
import dev.berth.api.BlockingHandler;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import java.io.IOException;

/**
 * Reads a digit with a model of its own per replica. Takes a PNG, which it decodes here where it
 * may block, or {@link Pixels#MEDIA_TYPE}.
 */
final class DigitsHandler implements BlockingHandler {
  private final DigitsModel model;

  private DigitsHandler(DigitsModel model) {
    this.model = model;
  }

  static DigitsHandler load() throws IOException, OrtException {
    return new DigitsHandler(DigitsModel.load());
  }

  @Override
  public Response handle(Request request, RequestContext context) throws OrtException {
    String contentType = request.headers().get("content-type");
    Pixels pixels;
    try {
      switch (BadInput.mediaType(contentType)) {
        case "image/png" -> pixels = PngPixels.decode(request.bytes().getBytes());
        case Pixels.MEDIA_TYPE -> pixels = Pixels.fromBuffer(request.bytes());
        default -> {
          return BadInput.unsupportedContentType(contentType, "image/png or " + Pixels.MEDIA_TYPE);
        }
      }
    } catch (BadInput bad) {
      return bad.toResponse();
    }
    return Response.json(200, Classification.of(model.classify(pixels)).toJson());
  }

  @Override
  public void stop() throws OrtException {
    model.close();
  }
}
