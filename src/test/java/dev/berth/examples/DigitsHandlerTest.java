package dev.berth.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.BatchItem;
import dev.berth.api.BatchResult;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.FakeParent;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class DigitsHandlerTest {
  private final FakeParent context = new FakeParent();
  private DigitsHandler handler;

  @BeforeEach
  void load() throws Exception {
    handler = DigitsHandler.load("r1");
  }

  @AfterEach
  void stop() throws Exception {
    handler.stop();
  }

  private Response answer(Request request) throws Exception {
    return answers(List.of(request)).get(0);
  }

  private List<Response> answers(List<Request> requests) throws Exception {
    return handler
        .handle(requests.stream().map(each -> new BatchItem(each, context)).toList())
        .stream()
        .map(BatchResult::response)
        .map(Objects::requireNonNull)
        .toList();
  }

  private static Request png(Path image) {
    try {
      return Answers.post("image/png", Buffer.buffer(Files.readAllBytes(image)));
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  @Test
  void batchOfAnySizeGivesEachPictureTheAnswerThatItGetsAlone() throws Exception {
    List<Request> pictures = HeldOutImages.all().stream().map(DigitsHandlerTest::png).toList();
    List<Response> alone = new ArrayList<>();
    for (Request each : pictures) {
      alone.add(answer(each));
    }
    for (int size : List.of(2, 7, 16, 100)) {
      for (int from = 0; from < 100; from += size) {
        int to = Math.min(100, from + size);
        List<Response> together = answers(pictures.subList(from, to));
        for (int i = from; i < to; i++) {
          assertThat(Answers.body(together.get(i - from)))
              .as("picture %d in a batch of %d", i, size)
              .isEqualTo(Answers.body(alone.get(i)));
        }
      }
    }
  }

  @Test
  void badPictureLeavesTheOthersOfItsBatchAlone() throws Exception {
    Request three = Answers.post("image/png", Buffer.buffer(HeldOutImages.read("3-1.png")));
    Request text = Answers.post("text/plain", Buffer.buffer("seven"));
    Request seven = Answers.post("image/png", Buffer.buffer(HeldOutImages.read("7-3.png")));
    List<Response> answers = answers(List.of(text, three, seven, text));
    assertThat(answers).extracting(Response::status).containsExactly(415, 200, 200, 415);
    assertThat(answers)
        .extracting(each -> each.headers().get("x-berth-replica"))
        .containsExactly(null, "r1", "r1", null);
    assertThat(answers.subList(1, 3))
        .extracting(each -> Answers.body(each).toJsonObject().getInteger("digit"))
        .containsExactly(3, 7);
  }

  @Test
  void aPngAndItsPixelsGetTheSameAnswer() throws Exception {
    byte[] png = HeldOutImages.read("3-1.png");
    Response ofPng = answer(Answers.post("image/png", Buffer.buffer(png)));
    Buffer pixels = PngPixels.decode(png).toBuffer();
    Response ofPixels = answer(Answers.post(Pixels.MEDIA_TYPE, pixels));
    assertThat(ofPng.status()).isEqualTo(200);
    assertThat(Answers.body(ofPng).toJsonObject().getInteger("digit")).isEqualTo(3);
    assertThat(Answers.body(ofPixels)).isEqualTo(Answers.body(ofPng));
  }

  @Test
  void whatItCannotReadIsRefused() throws Exception {
    Buffer text = Buffer.buffer("seven");
    Answers.assertRefused(
        answer(Answers.post("image/png", text)),
        400,
        "body",
        "5 bytes without a PNG signature",
        "a PNG image of at most 1000000 pixels");
    Answers.assertRefused(
        answer(Answers.post(Pixels.MEDIA_TYPE, text)), 400, "body", "5 bytes", "256 bytes");
    Answers.assertRefused(
        answer(Answers.post("text/plain", text)),
        415,
        "content-type",
        "text/plain",
        "image/png or " + Pixels.MEDIA_TYPE);
  }

  @Test
  void stopClosesTheSession() throws Exception {
    DigitsHandler stopped = DigitsHandler.load("r1");
    stopped.stop();
    Buffer png = Buffer.buffer(HeldOutImages.read("3-1.png"));
    assertThatThrownBy(
            () -> stopped.handle(List.of(new BatchItem(Answers.post("image/png", png), context))))
        .isInstanceOf(IllegalStateException.class);
  }
}
