package dev.berth.config;

import dev.berth.config.keys.Schema;
import dev.berth.config.keys.Type;
import dev.berth.config.keys.Types;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * {@code import_path}: the static method that builds an application.
 *
 * @param className binary name, as in {@code com.acme.Shop} or {@code com.acme.Shop$Inner}
 * @param method {@code build} when the path contains only the class
 */
public record ImportPath(String className, String method) {

  /** The built-in application whose replicas are upstreams. */
  public static final ImportPath PROXY = new ImportPath("berth", "proxy");

  /** The built-in application whose replicas are upstreams that speak MCP. */
  public static final ImportPath MCP = new ImportPath("berth", "mcp");

  /** The built-in application that selects upstreams by the model of a request. */
  public static final ImportPath OPENAI = new ImportPath("berth", "openai");

  /** Method name of a path that contains only a class. */
  private static final String BUILDER_METHOD = "build";

  static final String EXPECTED =
      "a Java builder method, such as com.acme.Shop:build, or com.acme.Shop for its method "
          + BUILDER_METHOD;

  private static final String IDENTIFIER =
      "[\\p{L}\\p{Nl}\\p{Sc}\\p{Pc}][\\p{L}\\p{Nl}\\p{Sc}\\p{Pc}\\p{Nd}\\p{Mn}\\p{Mc}]*";

  /**
   * Pattern for a schema. Equivalent to {@link #parse}, except for control characters, which Java
   * permits.
   */
  static final String PATTERN =
      "^" + IDENTIFIER + "(\\." + IDENTIFIER + ")*(:" + IDENTIFIER + ")?$";

  static final Type<ImportPath> TYPE =
      Types.parsed(EXPECTED, ImportPath::parse, Schema.text(PATTERN));

  /** Returns whether the application has no code: its replicas are upstreams. */
  public boolean isBuiltIn() {
    return equals(PROXY) || equals(OPENAI) || equals(MCP);
  }

  /** Parses an import path; null when {@code text} is none. */
  static @Nullable ImportPath parse(String text) {
    int colon = text.indexOf(':');
    String className = colon < 0 ? text : text.substring(0, colon);
    String method = colon < 0 ? BUILDER_METHOD : text.substring(colon + 1);
    boolean valid =
        Arrays.stream(className.split("\\.", -1)).allMatch(ImportPath::isIdentifier)
            && isIdentifier(method);
    return valid ? new ImportPath(className, method) : null;
  }

  private static boolean isIdentifier(String text) {
    return !text.isEmpty()
        && Character.isJavaIdentifierStart(text.codePointAt(0))
        && text.codePoints().allMatch(Character::isJavaIdentifierPart);
  }

  /** Returns the path with its method. */
  @Override
  public String toString() {
    return className + ":" + method;
  }
}
