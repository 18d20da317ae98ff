package dev.berth.admin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.Explained;
import dev.berth.view.RequestExplanation;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ExplainTextTest {

  @Test
  void aRequestAndWhatItMadeReadAsATimeline() {
    String text = ExplainText.of(List.of(Explained.byHttp("mine"), Explained.madeByIt("mine")));
    assertThat(text)
        .isEqualTo(
            """
            request mine  GET /shop/cart
              shop#cart  ok, status 200
              at 2026-01-01T00:00:00.123456Z on node-1a2b3c4d
              total 1512.3 us, of that overhead 532.3 us

              phase            us      %
              queue         500.2   33.1 #################
              route           2.8    0.2 #
              bus            17.0    1.1 #
              handler       980.0   64.8 ################################
              respond        12.3    0.8 #

              candidates: 3 of 12, policy two_choices, snapshot 1.7; * served it
                replica          where                in use  as of         tier      rank    score
              * 1abc             node-1a2b3c4d/2         3/8  exact         same node    0    3.000
                2def             node-99999999/0         8/8  12.3 ms ago   any          1    8.500
                3ghi             node-99999999           0/8  no report     any          -        -

              queue: waited 500.2 us, 3 ahead on arrival, limit 100
              batch: 17 of replica 1abc, request 3 of 16, waited 500.2 us

              steps:          us  > is a change of event loop or instance
                        +0.0   arrived          node-1a2b3c4d/0
                        +2.1 > refused          node-99999999/0   2def             full
                        +2.4 > queued           node-1a2b3c4d/0
                      +502.6   granted          node-1a2b3c4d/0   1abc
                      +503.0   sent             node-1a2b3c4d/0   1abc
                      +510.0 > handler started  node-1a2b3c4d/2   1abc
                     +1500.0 > answered         node-1a2b3c4d/0   1abc
                     +1512.3   ended            node-1a2b3c4d/0                    ok
                               and 1 more

                called by shop#cart at +600.0 us:
                request mine  total
                  shop#prices  deadline_exceeded, made by shop#cart
                  failed in shop#prices: dev.berth.api.BerthException$Timeout
                    too late
                  at 2026-01-01T00:00:00.124056Z on node-1a2b3c4d
                  total 1.0 us, of that overhead 1.0 us

                  phase            us      %
                  route           1.0  100.0 ##################################################

                  candidates: 0, policy two_choices, snapshot 1.8

                  queue: did not wait

                  steps:          us  > is a change of event loop or instance
                            +0.0   arrived          node-1a2b3c4d/2
            """);
  }

  @Test
  void upstreamsAndLongReasonsAreShown() {
    assertThat(ExplainText.of(List.of(Explained.atUpstreams())))
        .contains(
            """

              upstreams: ran at https://models.example#big
                1abc             http://localhost:9001
                shop#spare#2def  https://models.example#big

            """,
            """
                        +0.1   refused          n1/2              1abc
                               connect: Connection refused: localhost/127.0.0.1:9001
                        +0.2 > answered         n1/0              shop#spare#2def
            """);
  }

  @Test
  void noLineIsWiderThanATerminalWhateverTheNames() {
    String longName = "x".repeat(9_000);
    List<RequestExplanation> records = new ArrayList<>();
    records.add(Explained.with(longName, "GET /" + longName, 1));
    for (int i = 0; i < 20; i++) {
      records.add(Explained.madeByIt(longName));
    }
    assertThat(ExplainText.of(records).lines())
        .isNotEmpty()
        .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(ExplainText.WIDTH));
  }

  @Test
  void whatATerminalWouldObeyIsNotShown() {
    RequestExplanation request =
        Explained.with("a\u001b[31m", "GET /\r\n\u0007\u009b2J\u202eevil\u2028!", 1);
    assertThat(ExplainText.of(List.of(request)))
        .startsWith("request a?[31m  GET /????2J?evil?!\n")
        .doesNotContain("\u001b", "\r", "\u009b", "\u202e", "\u2028");
  }

  @Test
  void requestsOfOneIdStandOneAfterTheOtherTheNewestFirst() {
    RequestExplanation first = Explained.with("a", "GET /first", 1);
    RequestExplanation second = Explained.with("a", "GET /second", 1);
    String text = ExplainText.of(List.of(second, first));
    assertThat(text.indexOf("GET /first")).isPositive();
    assertThat(text).contains("\n\nrequest a  GET /");
  }

  @Test
  void whatIsMadeByAnUnknownRequestStandsForItself() {
    assertThat(ExplainText.of(List.of(Explained.madeByIt("a"))))
        .startsWith("request a  total\n  shop#prices  deadline_exceeded, made by shop#cart\n");
  }
}
