rootProject.name = "@name@"
