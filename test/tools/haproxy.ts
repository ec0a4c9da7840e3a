import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Daemon, startDaemon } from './daemon.ts'

/** Starts HAProxy with this configuration, which is given `count` free ports of 127.0.0.1. */
export function startHaproxy(count: number, configuration: (ports: number[]) => string): Promise<Daemon> {
  return startDaemon({
    name: 'haproxy',
    ports: count,
    async prepare(folder, ports) {
      const file = join(folder, 'haproxy.cfg')
      await writeFile(file, configuration(ports))
      return ['-W', '-db', '-f', file]
    },
    isReady: (line) => line.includes('Loading success'),
  })
}
