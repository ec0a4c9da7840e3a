import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { program } from '../../scripts/program.mjs'
import { ROOT } from '../server-process.ts'
import { REDIRECT } from './content.ts'
import { freePort, type PeerProcess, startPeer } from './server.ts'

interface Folders {
  /** For configuration and files of the peer itself. */
  own: string
  /** The files of the one site. */
  site: string
  /** A folder for each of many sites, named by its host. */
  sites: string
}

export interface Nginx extends PeerProcess {
  port: number
  /** Serves by Host, from a folder per site. */
  sitesPort: number
}

/** nginx tuned for static files: one worker, sendfile, open file cache, no log. */
export async function startNginx({ own, site, sites }: Folders): Promise<Nginx> {
  const [port, sitesPort] = [await freePort(), await freePort()]
  mkdirSync(own, { recursive: true })
  const config = join(own, 'nginx.conf')
  writeFileSync(config, nginxConfig({ own, site, sites }, port, sitesPort))
  const peer = await startPeer(
    [program('nginx')!, '-p', own, '-c', config, '-e', join(own, 'error.log')],
    port,
  )
  return { ...peer, port, sitesPort }
}

export async function startCaddy({ own, site }: Folders): Promise<PeerProcess & { port: number }> {
  const port = await freePort()
  mkdirSync(own, { recursive: true })
  const config = join(own, 'Caddyfile')
  writeFileSync(config, caddyConfig(site, port))
  const command = [program('caddy')!, 'run', '--config', config, '--adapter', 'caddyfile']
  const environment = { GOMAXPROCS: '1', HOME: own, XDG_CONFIG_HOME: own, XDG_DATA_HOME: own }
  return { ...(await startPeer(command, port, environment)), port }
}

/** sirv or serve-handler on Node's own HTTP server. */
export async function startNodePeer(
  name: 'sirv' | 'serve-handler',
  { site }: Folders,
): Promise<PeerProcess & { port: number }> {
  const port = await freePort()
  const command = [join(ROOT, 'node_modules/.bin/node'), join(import.meta.dirname, 'node-peer.ts')]
  return { ...(await startPeer([...command, name, site, `${port}`], port)), port }
}

function nginxConfig({ own, site, sites }: Folders, port: number, sitesPort: number): string {
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `${user}
daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid ${join(own, 'nginx.pid')};
error_log ${join(own, 'error.log')} crit;
events { worker_connections 16384; }
http {
  types { text/html html; image/jpeg jpg; video/mp4 mp4; }
  ${paths.map((name) => `${name}_temp_path ${join(own, name)};`).join('\n  ')}
  access_log off;
  log_not_found off;
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 600;
  keepalive_requests 1000000000;
  open_file_cache max=16000 inactive=10m;
  open_file_cache_errors on;
  server {
    listen 127.0.0.1:${port};
    root ${site};
    location = ${REDIRECT.from} { return 301 ${REDIRECT.to}; }
  }
  server {
    listen 127.0.0.1:${sitesPort};
    root ${sites}/$host;
  }
}
`
}

function caddyConfig(site: string, port: number): string {
  return `{
  admin off
  auto_https off
  log {
    output discard
  }
}
http://:${port} {
  bind 127.0.0.1
  root * ${site}
  redir ${REDIRECT.from} ${REDIRECT.to} 301
  file_server
}
`
}
