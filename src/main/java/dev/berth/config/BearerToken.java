package dev.berth.config;

import static java.util.stream.Collectors.toMap;

import dev.berth.config.admin.AdminRole;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Types;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A named client that authenticates by a secret, in {@code Authorization: Bearer <secret>}. */
public final class BearerToken {

  private static final int MIN_CHARS = 16;
  private static final String EXPECTED =
      "at least " + MIN_CHARS + " printable ASCII characters without a space";

  private static final Keys KEYS = new Keys();

  public static final ConfigKey<String> NAME =
      KEYS.required("name", Types.TEXT)
          .means("Name of the client, unique. Limits are counted per name.");
  public static final ConfigKey<String> TOKEN =
      KEYS.optional("token", Types.SECRET)
          .means("The secret, at least 16 characters, never printed. A file is preferable.");
  public static final ConfigKey<String> TOKEN_FILE =
      KEYS.optional("token_file", Types.SECRET_FILE)
          .means("File with only the secret; in place of token. Read at start.");

  public static final ConfigKey<AdminRole> ROLE =
      ConfigKey.of("role", Types.words(AdminRole.class), AdminRole.OPERATOR)
          .means("Permissions of the client; a viewer can read, and change nothing.");

  static final Section SECTION = KEYS.section().check(BearerToken::check);

  /** Section of a client of the admin server. */
  static final Section ADMIN_SECTION = SECTION.and(Section.of(ROLE));

  private static void check(Settings values) {
    boolean inline = values.gives(TOKEN);
    boolean file = values.gives(TOKEN_FILE);
    if (inline == file) {
      values.problem(TOKEN, inline ? "with token_file" : "missing", "token or token_file");
      return;
    }
    String secret = values.find(inline ? TOKEN : TOKEN_FILE);
    if (secret != null && !isStrong(secret)) {
      if (inline) {
        values.problem(TOKEN, "duplicate; its value is not shown", EXPECTED);
      } else {
        values.problem(TOKEN_FILE, "a file with a duplicate; it is not shown", EXPECTED);
      }
    }
  }

  private static boolean isStrong(String secret) {
    return secret.length() >= MIN_CHARS && secret.chars().allMatch(c -> c > ' ' && c <= '~');
  }

  /** Creates the settings of a client from its secret. */
  public static Settings of(String name, String secret) {
    return ADMIN_SECTION.empty().with(NAME, name).with(TOKEN, secret);
  }

  /** Returns the secrets by client name; must not be printed. */
  public static Map<String, String> secrets(List<Settings> clients) {
    Map<String, String> secrets = new HashMap<>();
    for (Settings client : clients) {
      String inline = client.find(TOKEN);
      secrets.put(client.get(NAME), inline == null ? client.get(TOKEN_FILE) : inline);
    }
    return secrets;
  }

  /** Returns the roles of the admin server's clients by name. */
  public static Map<String, AdminRole> roles(List<Settings> clients) {
    return clients.stream().collect(toMap(client -> client.get(NAME), client -> client.get(ROLE)));
  }

  private BearerToken() {}
}
