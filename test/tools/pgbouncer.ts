import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Daemon, startDaemon } from './daemon.ts'

/** A transaction pooler before the PostgreSQL on a port of loopback, on `ports[0]`. */
export function startPgBouncer(postgresPort: number): Promise<Daemon> {
  return startDaemon({
    name: 'pgbouncer',
    ports: 1,
    async prepare(folder, [port]) {
      const file = join(folder, 'pgbouncer.ini')
      const lines = [
        '[databases]',
        `* = host=127.0.0.1 port=${postgresPort} user=slipway`,
        '[pgbouncer]',
        'listen_addr = 127.0.0.1',
        `listen_port = ${port}`,
        'unix_socket_dir =',
        'auth_type = any',
        'pool_mode = transaction',
        'max_client_conn = 500',
        'default_pool_size = 10',
        // Each test has a database of its own, and so connections of its own.
        'server_idle_timeout = 1',
      ]
      await writeFile(file, lines.join('\n'))
      return [file]
    },
    isReady: (line) => line.includes('process up'),
    refusesRoot: true,
  })
}
