package dev.berth.upstream.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AddressPolicyTest {
  private static final AddressPolicy POLICY =
      new AddressPolicy(false, Set.of(8000, 9000), Set.of(address("10.0.0.5"), address("fd00::5")));

  private static InetAddress address(String text) {
    try {
      return InetAddress.getByName(text);
    } catch (java.net.UnknownHostException malformed) {
      throw new IllegalArgumentException(malformed);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "169.254.169.254, link-local",
    "169.254.0.1, link-local",
    "169.254.170.2, link-local",
    "fe80::1, link-local",
    "febf::1, link-local",
    "100.100.100.200, a metadata address",
    "168.63.129.16, a metadata address",
    "fd00:ec2::254, a metadata address",
    "fd20:ce::254, a metadata address",
    "192.0.0.192, a metadata address",
    "0.0.0.0, unspecified",
    "0.1.2.3, unspecified",
    "::, unspecified",
    "224.0.0.1, multicast",
    "239.255.255.250, multicast",
    "255.255.255.255, multicast",
    "ff02::1, multicast",
    "::ffff:169.254.169.254, link-local",
    "::ffff:0:169.254.169.254, link-local",
    "::169.254.169.254, link-local",
    "64:ff9b::169.254.169.254, link-local",
    "64:ff9b::100.100.100.200, a metadata address",
    "64:ff9b::168.63.129.16, a metadata address",
    "64:ff9b::0.0.0.0, unspecified",
    "64:ff9b::224.0.0.1, multicast",
    "64:ff9b:1::169.254.169.254, link-local",
    "64:ff9b:1:2:3:4:169.254.169.254, link-local",
    "2002:a9fe:a9fe::1, link-local"
  })
  void refusesAddressesThatAreNoUpstream(String text, String kind) {
    assertThat(POLICY.refusal(address(text), 80)).contains(": " + kind + " (expected:");
  }

  /** Java turns a v4-mapped address of 16 bytes into one of 4, unless it has a scope. */
  @Test
  void refusesMappedFormsOfSixteenBytes() throws Exception {
    byte[] mapped = new byte[16];
    mapped[10] = mapped[11] = (byte) 0xff;
    System.arraycopy(new byte[] {(byte) 169, (byte) 254, 1, 1}, 0, mapped, 12, 4);
    InetAddress address = java.net.Inet6Address.getByAddress("name", mapped, 1);
    assertThat(address.getAddress()).hasSize(16);
    assertThat(POLICY.refusal(address, 80)).contains("link-local");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "127.0.0.1",
        "::1",
        "10.0.0.7",
        "192.168.1.1",
        "100.100.100.201",
        "168.63.129.17",
        "169.253.1.1",
        "223.255.255.255",
        "fd00:ec2::253",
        "fec0::1",
        "2001:db8::1",
        "64:ff9b::8.8.8.8",
        "::ffff:8.8.8.8"
      })
  void permitsOtherAddresses(String text) {
    assertThat(POLICY.refusal(address(text), 80)).isNull();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "127.0.0.1",
        "127.9.9.9",
        "::1",
        "10.0.0.5",
        "fd00::5",
        "64:ff9b::127.0.0.1",
        "64:ff9b::10.0.0.5"
      })
  void refusesPortsOfTheInstance(String text) {
    assertThat(POLICY.refusal(address(text), 8000)).startsWith("port 8000: one of this instance's");
    assertThat(POLICY.refusal(address(text), 8001)).isNull();
    assertThat(POLICY.refusal(address("10.0.0.6"), 8000)).isNull();
  }

  @Test
  void credentialsOverPlainHttpStayOnLoopback() {
    AddressPolicy loopback = POLICY.onlyLoopback();
    assertThat(loopback.refusal(address("127.0.0.1"), 80)).isNull();
    assertThat(loopback.refusal(address("::1"), 80)).isNull();
    for (String other : new String[] {"10.0.0.7", "10.0.0.5", "64:ff9b::127.0.0.1"}) {
      assertThat(loopback.refusal(address(other), 80)).contains("credentials over plain HTTP");
    }
    assertThat(loopback.refusal(address("127.0.0.1"), 9000)).contains("port 9000");
  }

  @Test
  void policyOfTheHostKnowsItsAddresses() throws Exception {
    AddressPolicy host = AddressPolicy.ofHost(Set.of(8000), Map::of);
    assertThat(host.ownAddresses()).contains(address("127.0.0.1"));
    assertThat(host.refusal(address("127.0.0.1"), 8000)).isNotNull();
  }

  @ParameterizedTest
  @CsvSource({
    "10.0.0.7, 8265, true",
    "::ffff:10.0.0.7, 8265, true",
    "64:ff9b::a00:7, 8265, true",
    "10.0.0.7, 8266, false",
    "10.0.0.8, 8265, false",
    "127.0.0.1, 9001, true", // a node on this host
    "127.0.0.3, 9001, true",
    "10.0.0.5, 9001, true",
    "127.0.0.1, 8265, false"
  })
  void portsOfOtherNodesAreRefused(String at, int port, boolean refused) {
    AddressPolicy policy =
        new AddressPolicy(
            false,
            Set.of(),
            Set.of(address("10.0.0.5")),
            () -> Map.of("10.0.0.7", Set.of(8265), "10.0.0.5", Set.of(9001)),
            null);
    String refusal = policy.refusal(address(at), port);
    assertThat(refusal != null && refusal.contains("this cluster's own")).isEqualTo(refused);
  }
}
