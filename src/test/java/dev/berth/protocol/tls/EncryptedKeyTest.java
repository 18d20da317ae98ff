package dev.berth.protocol.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.interfaces.ECPrivateKey;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Keys that OpenSSL 3 has encrypted with the password {@code secret}; they guard nothing. */
class EncryptedKeyTest {
  private static final String TRIPLE_DES_SHA256 =
      "MIHjME4GCSqGSIb3DQEFDTBBMCkGCSqGSIb3DQEFDDAcBAgNQ0rdVlpytgICCAAwDAYIKoZIhvcN"
          + "AgkFADAUBggqhkiG9w0DBwQI9HMvYTyg5JkEgZCuKvP95ZZvbTcLBwhJU89nc5aI1PLJ1aLlUWoM"
          + "BfPDBuDjThTSE3nGSwFB5oXjpbx+Rz7BYifGHpPaV130BEgC9IL+Fbz0P/Unq6r8EuufNOlrWTtP"
          + "z7IV3oSK3hlH+xglmNOKKtvaErmKgL1WPII+A2thQZPeZEDll0YD+wzgepn4UkKMNSwtUPseivhh"
          + "7Ow=";
  private static final String AES256_SHA512 =
      "MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhX8zi+pxSeTwICCAAwDAYIKoZIhvcN"
          + "AgsFADAdBglghkgBZQMEASoEECWKqTGWU2sOWuQFd3WdJOEEgZBA9d/xDRrz1qFxfFAEsPD9F3ha"
          + "vJsGgv2gsPHcetJP2VGFIsICRvvEeHmQI9oeCEORrKSgrtRfb+QMMSXKrwOk/pbymVvkDE9Gj5HU"
          + "I90WJWxlEWy3ukLTHhCNdF+rXGIwG4Vc3C2JLKYEtEOt2FwsXcpTCCUGOzERNIHMy4NgAdugQwgs"
          + "Y2RNC3Zi6AiVgaU=";
  private static final String AES128_SHA1 =
      "MIHeMEkGCSqGSIb3DQEFDTA8MBsGCSqGSIb3DQEFDDAOBAgNKTFO/hvMXgICCAAwHQYJYIZIAWUD"
          + "BAECBBAgH345+pelNC9loYSfSX1OBIGQU+BQVvAoWNK7ChtWohDYEfnlTy8gFvndNNyHoZT6cqOl"
          + "AIYTQJD4AXC1EC6R6YhXALtaZjV6eQKmdQ9F/qICBw5SvDHbb1RBqbFkfRggBbiq6JoAmd9/Lu5f"
          + "iE1yelgd3bC18jGiIwsZ3+kARiNUPiqKPAYDJjK9pbf99PiKIgWnApsa55eBFxAqUOlt7Qja";
  private static final String PBES1_TRIPLE_DES =
      "MIGxMBwGCiqGSIb3DQEMAQMwDgQIMFYC8Kqoj1gCAggABIGQvP0RRpCZ+BkcrY7a8PLTVmnJzU8j"
          + "jzY8ksxchEMKg+AC4ozhRgHxPRUVigjyL+iVp+gyF8jwqTVZi9cmHEGhsPEpB/T5W74AlnsITeHO"
          + "fUiZ5DvuEns33+nrNyzFaCHKWlfL8WIxvjQOCvaqTQKQWtxHRE9DehAbztoWzqgHJVU8IbVmWeqt"
          + "DFAq9peAIpl1";
  private static final String SCRYPT =
      "MIHkME8GCSqGSIb3DQEFDTBCMCEGCSsGAQQB2kcECzAUBAhy5tD8siuJAAICQAACAQgCAQEwHQYJ"
          + "YIZIAWUDBAEqBBAmYWMuYawmHbMjGPKBg149BIGQ2IaGkJ5o5PJw/15jh0S2ejC7gF45ZVufHkOw"
          + "wpvqypbF4AjTphPiLcmtZYPt2dQgqqFhiato2KK8ZYcR/aOKk1/+E3mgm/d0oM9G/wzhy8DTHwTG"
          + "5xmuB/1wRb55WsTiBpNeiboXm+qt1/JE3y5KJ0fi1dmAwT4I0oQxxTro47UVRqCrvY5fY1AQvZ/3"
          + "FquJ";

  @ParameterizedTest
  @ValueSource(strings = {TRIPLE_DES_SHA256, AES256_SHA512, AES128_SHA1, PBES1_TRIPLE_DES})
  void whatOpenSslEncryptsIsOpened(String key) throws Exception {
    byte[] opened = EncryptedKey.open(Base64.getDecoder().decode(key), "secret");
    assertThat(KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(opened)))
        .isInstanceOf(ECPrivateKey.class);
  }

  @ParameterizedTest
  @ValueSource(strings = {TRIPLE_DES_SHA256, AES256_SHA512, AES128_SHA1, PBES1_TRIPLE_DES})
  void anotherPasswordDoesNotOpenIt(String key) {
    assertThatThrownBy(() -> open(pem(key), "Secret"))
        .isInstanceOf(TlsFileException.class)
        .hasMessageStartingWith("http_options.ssl_keyfile_password: does not open k ");
  }

  @ParameterizedTest
  @ValueSource(strings = {AES256_SHA512, PBES1_TRIPLE_DES})
  void aKeyThatIsCutShortIsRefusedAndBreaksNothing(String key) {
    byte[] whole = Base64.getDecoder().decode(key);
    for (int length = 0; length < whole.length; length++) {
      String cut = Base64.getEncoder().encodeToString(Arrays.copyOf(whole, length));
      assertThatThrownBy(() -> open(pem(cut), "secret")).isInstanceOf(TlsFileException.class);
    }
  }

  @Test
  void whatIsNotKnownIsSaid() {
    assertThatThrownBy(() -> open(pem(SCRYPT), "secret"))
        .hasMessageStartingWith("http_options.ssl_keyfile: k, encrypted by what is not known here")
        .hasMessageContaining("openssl pkcs8 -topk8");
    assertThatThrownBy(
            () -> open("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n", "secret"))
        .hasMessageContaining("before PKCS#8");
  }

  private static PrivateKey open(String pem, String password) {
    PemFile certificate = new PemFile("http_options", "ssl_certfile", Path.of("c"));
    PemFile key = new PemFile("http_options", "ssl_keyfile", Path.of("k"));
    return PemKey.read(new TlsFiles(certificate, key, null, "ssl_keyfile_password", password), pem);
  }

  private static String pem(String base64) {
    return "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
        + base64
        + "\n-----END ENCRYPTED PRIVATE KEY-----\n";
  }
}
