import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.EnumSet;

import org.apache.sshd.client.SshClient;
import org.apache.sshd.client.channel.ChannelExec;
import org.apache.sshd.client.channel.ClientChannelEvent;
import org.apache.sshd.client.keyverifier.AcceptAllServerKeyVerifier;
import org.apache.sshd.client.session.ClientSession;
import org.apache.sshd.common.keyprovider.FileKeyPairProvider;
import org.apache.sshd.server.SshServer;
import org.apache.sshd.server.config.keys.AuthorizedKeysAuthenticator;
import org.apache.sshd.server.shell.ProcessShellFactory;
import org.apache.sshd.sftp.client.SftpClient;
import org.apache.sshd.sftp.client.SftpClientFactory;
import org.apache.sshd.sftp.server.SftpSubsystemFactory;

/**
 * A client of Apache MINA SSHD, and a server:
 *
 *     Peer sftp|exec get|put HOST PORT KEY SOURCE COPY
 *     Peer serve PORT HOSTKEY USERKEY.pub
 */
class Peer {
    static final Duration LIMIT = Duration.ofMinutes(5);

    static void sftp(ClientSession ssh, boolean get, Path source, Path copy)
            throws Exception {
        try (SftpClient sftp =
                SftpClientFactory.instance().createSftpClient(ssh)) {
            if (get) {
                try (InputStream from = sftp.read(source.toString())) {
                    Files.copy(from, copy);
                }
            } else {
                sftp.put(source, copy.toString());
            }
        }
    }

    static void exec(ClientSession ssh, boolean get, Path source, Path copy)
            throws Exception {
        String command = get ? "cat " + source : "cat > " + copy;
        try (ChannelExec channel = ssh.createExecChannel(command)) {
            channel.setRedirectErrorStream(true);
            channel.open().verify(LIMIT);
            if (get) {
                Files.copy(channel.getInvertedOut(), copy);
            } else {
                try (OutputStream to = channel.getInvertedIn()) {
                    Files.copy(source, to);
                }
            }
            channel.waitFor(EnumSet.of(ClientChannelEvent.CLOSED), LIMIT);
            Integer status = channel.getExitStatus();
            if (status == null || status != 0) {
                throw new Exception("cat: " + status);
            }
        }
    }

    static void client(String mode, boolean get, String host, int port,
            Path key, Path source, Path copy) throws Exception {
        try (SshClient client = SshClient.setUpDefaultClient()) {
            client.setServerKeyVerifier(AcceptAllServerKeyVerifier.INSTANCE);
            client.setKeyIdentityProvider(new FileKeyPairProvider(key));
            client.start();
            try (ClientSession ssh = client.connect("root", host, port)
                    .verify(LIMIT).getSession()) {
                ssh.auth().verify(LIMIT);
                if (mode.equals("exec")) {
                    exec(ssh, get, source, copy);
                } else {
                    sftp(ssh, get, source, copy);
                }
            }
        }
    }

    static void serve(int port, Path hostKey, Path userKey) throws Exception {
        SshServer server = SshServer.setUpDefaultServer();
        server.setPort(port);
        server.setKeyPairProvider(new FileKeyPairProvider(hostKey));
        server.setPublickeyAuthenticator(
            new AuthorizedKeysAuthenticator(userKey));
        server.setSubsystemFactories(
            Collections.singletonList(new SftpSubsystemFactory()));
        server.setCommandFactory((channel, command) ->
            new ProcessShellFactory(command, "sh", "-c", command)
                .createShell(channel));
        server.start();
        Thread.sleep(Long.MAX_VALUE);
    }

    public static void main(String[] a) throws Exception {
        if (a.length == 4 && a[0].equals("serve")) {
            serve(Integer.parseInt(a[1]), Path.of(a[2]), Path.of(a[3]));
        } else if (a.length == 7) {
            client(a[0], a[1].equals("get"), a[2], Integer.parseInt(a[3]),
                Path.of(a[4]), Path.of(a[5]), Path.of(a[6]));
        } else {
            throw new Exception(
                "usage: Peer MODE get|put HOST PORT KEY SOURCE COPY");
        }
    }
}
