// A client of ssh2:
//
//	node peer.js sftp|exec get|put HOST PORT KEY SOURCE COPY
'use strict';
const fs = require('fs');
const { Client } = require('ssh2');

const [mode, direction, host, port, key, source, copy] =
    process.argv.slice(2);
const client = new Client();

function done(error) {
  if (error)
    throw error;
  client.end();
}

function exec(error, stream) {
  if (error)
    throw error;
  stream.on('exit', (code) => { process.exitCode = code; });
  stream.on('close', () => client.end());
  if (direction === 'get') {
    stream.pipe(fs.createWriteStream(copy));
  } else {
    stream.resume();    // its end is seen only by who reads
    fs.createReadStream(source).pipe(stream);
  }
}

client.on('ready', () => {
  if (mode === 'exec') {
    client.exec(direction === 'get' ? `cat ${source}` : `cat > ${copy}`,
        exec);
    return;
  }
  client.sftp((error, sftp) => {
    if (error)
      throw error;
    if (direction === 'get')
      sftp.fastGet(source, copy, done);
    else
      sftp.fastPut(source, copy, done);
  });
});
client.connect({ host, port: Number(port), username: 'root',
    privateKey: fs.readFileSync(key) });
