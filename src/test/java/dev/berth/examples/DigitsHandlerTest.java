package dev.berth.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Response;
import dev.berth.fakes.FakeParent;
import io.vertx.core.buffer.Buffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class DigitsHandlerTest {
  private final FakeParent context = new FakeParent();
  private DigitsHandler handler;

  @BeforeEach
  void load() throws Exception {
    handler = DigitsHandler.load();
  }

  @AfterEach
  void stop() throws Exception {
    handler.stop();
  }

  @Test
  void aPngAndItsPixelsGetTheSameAnswer() throws Exception {
    byte[] png = HeldOutImages.read("3-1.png");
    Response ofPng = handler.handle(Answers.post("image/png", Buffer.buffer(png)), context);
    Buffer pixels = PngPixels.decode(png).toBuffer();
    Response ofPixels = handler.handle(Answers.post(Pixels.MEDIA_TYPE, pixels), context);
    assertThat(ofPng.status()).isEqualTo(200);
    assertThat(Answers.body(ofPng).toJsonObject().getInteger("digit")).isEqualTo(3);
    assertThat(Answers.body(ofPixels)).isEqualTo(Answers.body(ofPng));
  }

  @Test
  void whatItCannotReadIsRefused() throws Exception {
    Buffer text = Buffer.buffer("seven");
    Answers.assertRefused(
        handler.handle(Answers.post("image/png", text), context),
        400,
        "body",
        "5 bytes without a PNG signature",
        "a PNG image of at most 1000000 pixels");
    Answers.assertRefused(
        handler.handle(Answers.post(Pixels.MEDIA_TYPE, text), context),
        400,
        "body",
        "5 bytes",
        "256 bytes");
    Answers.assertRefused(
        handler.handle(Answers.post("text/plain", text), context),
        415,
        "content-type",
        "text/plain",
        "image/png or " + Pixels.MEDIA_TYPE);
  }

  @Test
  void stopClosesTheSession() throws Exception {
    DigitsHandler stopped = DigitsHandler.load();
    stopped.stop();
    Buffer png = Buffer.buffer(HeldOutImages.read("3-1.png"));
    assertThatThrownBy(() -> stopped.handle(Answers.post("image/png", png), context))
        .isInstanceOf(IllegalStateException.class);
  }
}
