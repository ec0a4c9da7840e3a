import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { gzipSync } from 'node:zlib'
import { mediaType } from '../../protocol/manifest/media-type.ts'
import { program } from '../../scripts/program.mjs'

/** A real nginx on its own folder. It listens on a Unix socket there, so that it needs no free port. */
export interface Nginx extends AsyncDisposable {
  path: string
}

/** Starts nginx with a common configuration for static sites: index, 404 page, gzip_static. */
export async function startNginx(site: Record<string, string | Buffer>): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'slipway-nginx-'))
  for (const [path, content] of Object.entries(site)) write(join(folder, 'site', path), content)
  write(join(folder, 'site', 'style.css.gz'), gzipSync(site['style.css']!))
  write(join(folder, 'nginx.conf'), configuration(folder, site))
  const nginx = spawn(program('nginx')!, ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exit = once(nginx, 'exit')
  await waitUntilListening(nginx.stderr)
  return {
    path: join(folder, 'socket'),
    async [Symbol.asyncDispose]() {
      nginx.kill('SIGTERM')
      await exit
      rmSync(folder, { recursive: true })
    },
  }
}

function write(file: string, content: string | Buffer): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}

/** nginx logs "event method" once its sockets are open. */
async function waitUntilListening(output: NodeJS.ReadableStream): Promise<void> {
  const lines: string[] = []
  for await (const line of createInterface(output)) {
    lines.push(line)
    if (line.includes('event method')) break
  }
  if (!lines.at(-1)?.includes('event method')) throw new Error(`nginx did not start: ${lines.join('\n')}`)
  output.resume()
}

function configuration(folder: string, site: Record<string, string | Buffer>): string {
  const endings = new Set(Object.keys(site).map((path) => /\.(\w+)$/.exec(path)?.[1]))
  const types = [...endings].flatMap((ending) =>
    ending === undefined ? [] : `"${mediaType(`a.${ending}`)}" ${ending};`,
  )
  return `
daemon off;
master_process off;
error_log stderr notice;
pid ${folder}/pid;
events {}
http {
  access_log off;
  types { ${types.join(' ')} }
  default_type ${mediaType('noending')};
  gzip_static on;
  gzip_vary on;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  server {
    listen unix:${folder}/socket;
    absolute_redirect off;
    root ${folder}/site;
    error_page 404 /404.html;
  }
}
`
}
