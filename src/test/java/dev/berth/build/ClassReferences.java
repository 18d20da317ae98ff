package dev.berth.build;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Names of the classes that a class file refers to, read from its constant pool. */
final class ClassReferences {
  private static final Pattern IN_DESCRIPTOR = Pattern.compile("L([\\w/$]+)[;<]");
  private static final Pattern DESCRIPTOR = Pattern.compile("[(\\[]*[L(].*");

  private ClassReferences() {}

  /** Returns the names with slashes, those of the JDK included. */
  static TreeSet<String> of(Path classFile) throws IOException {
    DataInputStream in =
        new DataInputStream(new ByteArrayInputStream(Files.readAllBytes(classFile)));
    in.skipBytes(8); // magic number and version
    int size = in.readUnsignedShort();
    String[] texts = new String[size];
    int[] classes = new int[size]; // index of the name
    for (int index = 1; index < size; index++) {
      int tag = in.readUnsignedByte();
      switch (tag) {
        case 1 -> texts[index] = in.readUTF();
        case 7 -> classes[index] = in.readUnsignedShort();
        case 8, 16, 19, 20 -> in.skipBytes(2);
        case 15 -> in.skipBytes(3);
        case 3, 4, 9, 10, 11, 12, 17, 18 -> in.skipBytes(4);
        case 5, 6 -> {
          in.skipBytes(8);
          index++; // takes two entries
        }
        default -> throw new IOException(classFile + ": tag " + tag + " (expected: a known one)");
      }
    }
    TreeSet<String> names = new TreeSet<>();
    for (int index = 1; index < size; index++) {
      String name = classes[index] == 0 ? "" : texts[classes[index]];
      if (!name.isEmpty() && !name.startsWith("[")) {
        names.add(name);
      }
      String text = texts[index];
      if (text != null && DESCRIPTOR.matcher(text).matches()) {
        Matcher found = IN_DESCRIPTOR.matcher(text);
        while (found.find()) {
          names.add(found.group(1));
        }
      }
    }
    return names;
  }
}
