import { readFileSync } from 'node:fs'
import type { ClientConfig } from 'pg'

/** Servers of one cluster, and how to connect to each of them. */
export interface Cluster {
  hosts: readonly { host: string; port: number }[]
  config: Pick<ClientConfig, 'user' | 'password' | 'database' | 'ssl'>
}

const URL_FORM = /^postgres(?:ql)?:\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/
const DEFAULT_PORT = 5432

/**
 * Parses a connection URL of PostgreSQL, which may name several hosts (`postgres://user@one,two:5433/db`). Of its
 * parameters it knows `host` (a folder with a Unix socket), `sslmode` (`disable`, `require` or `verify-full`) and
 * `sslrootcert` (a file). Throws an Error with a sentence that names the part and not the password.
 */
export function parseConnectionUrl(url: string): Cluster {
  const match = URL_FORM.exec(url)
  if (!match) throw new Error('must have the form postgres://user:password@host:port/database')
  const [, user = '', password = '', authority = '', database = '', query = ''] = match
  const parameters = new URLSearchParams(query)
  const unknown = [...parameters.keys()].find((name) => !['host', 'sslmode', 'sslrootcert'].includes(name))
  if (unknown !== undefined)
    throw new Error(`has an unknown parameter "${unknown}"; use host, sslmode or sslrootcert`)
  const socket = parameters.get('host')
  const names = socket === null ? authority.split(',') : [socket]
  return {
    hosts: names.map((name) => parseHost(name)),
    config: {
      ...(user === '' ? {} : { user: decodeURIComponent(user) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
      ...(database === '' ? {} : { database: decodeURIComponent(database) }),
      ssl: parseTls(parameters.get('sslmode') ?? 'disable', parameters.get('sslrootcert')),
    },
  }
}

function parseHost(text: string): Cluster['hosts'][number] {
  if (text.startsWith('/')) return { host: text, port: DEFAULT_PORT }
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(text)
  if (!match) throw new Error(`has an invalid host "${text}"`)
  return { host: match[1] ?? match[2]!, port: Number(match[3] ?? DEFAULT_PORT) }
}

function parseTls(mode: string, rootFile: string | null): ClientConfig['ssl'] {
  const ca = rootFile === null ? {} : { ca: readFileSync(rootFile, 'utf8') }
  switch (mode) {
    case 'disable':
      return false
    case 'require':
      return { rejectUnauthorized: false, ...ca }
    case 'verify-full':
      return { rejectUnauthorized: true, ...ca }
  }
  throw new Error(`has an unknown sslmode "${mode}"; use disable, require or verify-full`)
}
