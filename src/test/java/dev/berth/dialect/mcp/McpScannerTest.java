package dev.berth.dialect.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.dialect.DialectProblem;
import dev.berth.dialect.mcp.McpMessage.MessageKind;
import io.vertx.core.buffer.Buffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class McpScannerTest {
  private static McpMessage scan(String body) {
    return McpScanner.scan(Buffer.buffer(body.replace('\'', '"')));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{'jsonrpc':'2.0','id':1,'method':'ping'} | REQUEST | 1 | ping",
        "{'method':'a','id':'x\\u0041'} | REQUEST | \"xA\" | a",
        "{'method':'notifications/cancelled','params':{'requestId':1}} | NOTIFICATION | null"
            + " | notifications/cancelled",
        "{'id':7,'result':{'method':'no'}} | RESPONSE | 7 | ''",
        "{'id':-1.5,'error':{}} | RESPONSE | -1.5 | ''"
      })
  void messageIsClassifiedByItsMembers(String body, MessageKind kind, String id, String method) {
    assertThat(scan(body)).isEqualTo(new McpMessage(kind, id, method, "", "", ""));
  }

  @Test
  void namesAreReadAtTheirPlaceOnly() {
    McpMessage message =
        scan(
            "{'params':{'arguments':{'name':'no','uri':['}']},'name':'se\\u0061rch','uri':'u',"
                + "'_meta':{'x':{},'io.modelcontextprotocol/protocolVersion':'2026-07-28'}},"
                + "'id':1,'name':'no','method':'tools/call'}");
    assertThat(message.name()).isEqualTo("search");
    assertThat(message.uri()).isEqualTo("u");
    assertThat(message.version()).isEqualTo("2026-07-28");
    assertThat(message.tool()).isEqualTo("search");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "[{'id':1,'method':'ping'}]",
        " [ ]",
        "{}",
        "{'id':1}",
        "{'result':1}",
        "{'id':null,'method':'ping'}",
        "{'id':{},'method':'ping'}",
        "{'id':1,'method':7}",
        "{'id':1,'method':'ping','result':{}}",
        "{'id':1,'id':2,'method':'ping'}",
        "{'id':1,'method':'ping','me\\u0074hod':'tools/call'}",
        "{'id':1,'method':'tools/call','params':{'name':'a'},'params':{'name':'b'}}",
        "{'id':1,'method':'tools/call','params':{'name':'a','name':'b'}}"
      })
  void bodyThatIsNotOneMessageIsRefused(String body) {
    assertThatThrownBy(() -> scan(body))
        .isInstanceOfSatisfying(
            DialectProblem.class,
            problem -> {
              assertThat(problem.response().status()).isEqualTo(400);
              assertThat(problem.response().code()).isEqualTo("invalid_message");
            });
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "{'id':1,'method':'ping'", "{'id':1,'method':'ping'}x", "{'id':01}"})
  void brokenJsonIsRefused(String body) {
    assertThatThrownBy(() -> scan(body))
        .isInstanceOfSatisfying(
            DialectProblem.class,
            problem -> assertThat(problem.response().code()).isEqualTo("invalid_json"));
  }

  @Test
  void largeBodyIsScannedInLinearTime() {
    String long1 = "\\\\".repeat(4 << 20);
    assertThat(
            scan("{'params':{'arguments':'" + long1 + "','name':'a'},'id':1,'method':'b'}").name())
        .isEqualTo("a");
  }
}
