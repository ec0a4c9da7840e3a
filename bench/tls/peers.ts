import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { program } from '../../scripts/program.mjs'
import { freePort, type PeerProcess, startPeer } from '../serving/server.ts'

interface PeerFiles {
  /** For configuration and files of the peer itself. */
  own: string
  /** The files of the one site. */
  site: string
  /** The site's name. */
  name: string
  /** PEM files: the chain and its key. */
  chain: string
  key: string
}

export interface SecurePeer extends PeerProcess {
  port: number
  /** The port with resumption; the same one where it is always possible. */
  resumingPort: number
}

/** nginx tuned for static files over TLS: one worker, sendfile, open file cache, no log. */
export async function startNginx(place: PeerFiles): Promise<SecurePeer> {
  const [port, resumingPort] = [await freePort(), await freePort()]
  mkdirSync(place.own, { recursive: true })
  const config = join(place.own, 'nginx.conf')
  writeFileSync(config, nginxConfig(place, port, resumingPort))
  const errors = join(place.own, 'error.log')
  const peer = await startPeer([program('nginx')!, '-p', place.own, '-c', config, '-e', errors], port)
  return { ...peer, port, resumingPort }
}

export async function startCaddy(place: PeerFiles): Promise<SecurePeer> {
  const port = await freePort()
  const { own } = place
  mkdirSync(own, { recursive: true })
  const config = join(own, 'Caddyfile')
  writeFileSync(config, caddyConfig(place, port))
  const command = [program('caddy')!, 'run', '--config', config, '--adapter', 'caddyfile']
  const environment = { GOMAXPROCS: '1', HOME: own, XDG_CONFIG_HOME: own, XDG_DATA_HOME: own }
  const peer = await startPeer(command, port, environment)
  return { ...peer, port, resumingPort: port }
}

function nginxConfig({ own, site, chain, key }: PeerFiles, port: number, resumingPort: number): string {
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `${user}
daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid ${join(own, 'nginx.pid')};
error_log ${join(own, 'error.log')} crit;
events { worker_connections 4096; }
http {
  types { text/html html; }
  ${paths.map((name) => `${name}_temp_path ${join(own, name)};`).join('\n  ')}
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 600;
  keepalive_requests 1000000000;
  open_file_cache max=16000 inactive=10m;
  root ${site};
  ssl_certificate ${chain};
  ssl_certificate_key ${key};
  ssl_protocols TLSv1.2 TLSv1.3;
  ssl_prefer_server_ciphers on;
  ssl_ciphers ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384;
  ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384;
  server {
    listen 127.0.0.1:${port} ssl http2 backlog=4096;
    ssl_session_tickets off;
    ssl_session_cache off;
  }
  server {
    listen 127.0.0.1:${resumingPort} ssl http2 backlog=4096;
    ssl_session_tickets on;
  }
}
`
}

function caddyConfig({ site, name, chain, key }: PeerFiles, port: number): string {
  return `{
  admin off
  auto_https off
  log {
    output discard
  }
  servers {
    protocols h1 h2
  }
}
https://${name}:${port} {
  bind 127.0.0.1
  tls ${chain} ${key}
  root * ${site}
  file_server
}
`
}
