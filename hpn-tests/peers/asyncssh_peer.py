"""A client of asyncssh, and a server:

    asyncssh_peer.py sftp|exec get|put HOST PORT KEY SOURCE COPY
    asyncssh_peer.py serve PORT HOSTKEY USERKEY.pub [SOFTWARE]
"""

import asyncio
import sys

import asyncssh


async def client(mode, direction, host, port, key, source, copy):
    async with asyncssh.connect(host, int(port), username="root",
                                client_keys=[key], known_hosts=None,
                                config=None) as ssh:
        if mode == "sftp":
            async with ssh.start_sftp_client() as sftp:
                await getattr(sftp, direction)(source, copy)
        elif direction == "get":
            await ssh.run(f"cat {source}", stdout=copy, encoding=None,
                          check=True)
        else:
            await ssh.run(f"cat > {copy}", stdin=source, encoding=None,
                          check=True)


async def run(process):
    """A command, its input and output being the channel's."""
    local = await asyncio.create_subprocess_shell(
        process.command, stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE)
    await process.redirect(stdin=local.stdin, stdout=local.stdout)
    process.exit(await local.wait())
    await process.wait_closed()


async def serve(port, host_key, user_key, software=()):
    await asyncssh.listen("0.0.0.0", int(port), reuse_address=True,
                          server_host_keys=[host_key], server_version=software,
                          authorized_client_keys=user_key, encoding=None,
                          process_factory=run, sftp_factory=True)
    await asyncio.Event().wait()


if sys.argv[1] == "serve":
    asyncio.run(serve(*sys.argv[2:]))
else:
    asyncio.run(client(*sys.argv[1:]))
