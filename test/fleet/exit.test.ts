import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { test } from 'node:test'
import { root } from '../../scripts/root.mjs'
import { waitFor } from '../support/wait-for.ts'
import { requires } from '../tools/part.ts'

/** Starts what runs of the fleet start, prints where it is, and waits. */
const RUN = `
  import { Program } from './test/operator/program.ts'
  import { startHaproxy } from './test/tools/haproxy.ts'
  import { exitOnSignals } from './test/tools/exit.ts'
  import { memoryFolder } from './test/tools/memory-folder.ts'
  exitOnSignals()
  const folder = await memoryFolder()
  const [program, balancer] = await Promise.all([
    Program.serve({ DATA: folder.path, WORKERS: '2' }),
    startHaproxy(1, ([port]) => 'frontend test\\n  mode tcp\\n  bind 127.0.0.1:' + port + '\\n'),
  ])
  const ports = [program.port, balancer.ports[0]]
  process.send({ ports, folders: [folder.path, balancer.folder] })
`

test('an interrupted run leaves no server and no folder behind', requires('haproxy'), async () => {
  const stdio = ['ignore', 'inherit', 'inherit', 'ipc'] as const
  const child = spawn(process.execPath, ['--input-type=module', '-e', RUN], { cwd: root, stdio: [...stdio] })
  const [{ ports, folders }] = (await once(child, 'message')) as [{ ports: number[]; folders: string[] }]
  assert.ok(await isOpen(ports[0]!))
  child.kill('SIGINT')
  assert.deepEqual(await once(child, 'exit'), [130, null])
  for (const port of ports) await waitFor(async () => !(await isOpen(port)))
  assert.deepEqual(folders.filter(existsSync), [])
})

function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  return once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy())
}
