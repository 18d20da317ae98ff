package dev.berth.replica.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StackTextTest {
  private static final StackTraceElement INVOKER =
      new StackTraceElement("dev.berth.replica.HandlerInvoker$OnLoop", "invoke", "X.java", 1);
  private static final StackTraceElement LOOP =
      new StackTraceElement("io.netty.EventLoop", "run", "EventLoop.java", 2);

  private static StackTraceElement[] stack(int userFrames, StackTraceElement... below) {
    List<StackTraceElement> frames = new ArrayList<>();
    for (int i = userFrames; i > 0; i--) {
      frames.add(new StackTraceElement("user.Code", "m" + i, "Code.java", i));
    }
    frames.addAll(List.of(below));
    return frames.toArray(StackTraceElement[]::new);
  }

  @Test
  void itEndsWithTheHandler() {
    assertThat(StackText.of(stack(2, INVOKER, LOOP)))
        .isEqualTo("at user.Code.m2(Code.java:2) < user.Code.m1(Code.java:1)");
  }

  @Test
  void ofADeepOneTheMiddleIsLeftOut() {
    assertThat(StackText.of(stack(100, INVOKER, LOOP)))
        .startsWith("at user.Code.m100(Code.java:100) < user.Code.m99(Code.java:99) < ")
        .endsWith("m89(Code.java:89) < ... < user.Code.m1(Code.java:1)");
  }

  @Test
  void withoutAHandlerItIsTheTop() {
    assertThat(StackText.of(stack(1, LOOP)))
        .isEqualTo("at user.Code.m1(Code.java:1) < io.netty.EventLoop.run(EventLoop.java:2)");
    assertThat(StackText.of(stack(100, LOOP))).endsWith("m89(Code.java:89)");
  }

  @Test
  void inBriefItIsWhatItDoesAndWhoseHandlerThatIs() {
    StackTraceElement lambda =
        new StackTraceElement("user.Code$$Lambda$7/0x0000", "handle", null, -1);
    assertThat(StackText.brief(stack(9, lambda, INVOKER, LOOP)))
        .isEqualTo("at user.Code.m9(Code.java:9) < ... < user.Code.m1(Code.java:1)");
    assertThat(StackText.brief(stack(2, INVOKER)))
        .isEqualTo("at user.Code.m2(Code.java:2) < user.Code.m1(Code.java:1)");
    assertThat(StackText.brief(stack(1, INVOKER))).isEqualTo("at user.Code.m1(Code.java:1)");
  }

  @Test
  void aThreadWithoutFramesHasNone() {
    assertThat(StackText.of(new StackTraceElement[0])).isEqualTo("no stack");
    assertThat(StackText.of(stack(0, INVOKER))).startsWith("at dev.berth.replica.HandlerInvoker");
  }

  @Test
  void aFrameIsShownWithoutItsModuleAndLoader() {
    StackTraceElement frame =
        new StackTraceElement("app", "java.base", "17", "java.lang.Thread", "sleep", null, -2);
    assertThat(StackText.of(new StackTraceElement[] {frame}))
        .isEqualTo("at java.lang.Thread.sleep");
  }

  @Test
  void stackWithoutUserCodeAndWithoutOursRunsNoHandler() {
    StackTraceElement wait = frame("io.netty.channel.epoll.Native", "epollWait");
    StackTraceElement select = frame("sun.nio.ch.EPoll", "wait");
    StackTraceElement run = frame("java.lang.Thread", "run");
    assertThat(StackText.isIdle(new StackTraceElement[] {wait, run})).isTrue();
    assertThat(StackText.isIdle(new StackTraceElement[] {select, run})).isTrue();
    StackTraceElement user = frame("demo.Spin", "handle");
    assertThat(StackText.isIdle(new StackTraceElement[] {wait, user, run})).isFalse();
    StackTraceElement ours = frame("dev.berth.replica.ReplicaLoop", "tick");
    assertThat(StackText.isIdle(new StackTraceElement[] {ours, run})).isFalse();
  }

  private static StackTraceElement frame(String type, String method) {
    return new StackTraceElement(type, method, "A.java", 1);
  }
}
