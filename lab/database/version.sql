-- "15.14 (Debian 15.14-0+deb12u1)" is 15.14.
SELECT split_part(current_setting('server_version'), ' ', 1);
