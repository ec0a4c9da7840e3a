import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { killProcessGroup } from './process-group.ts'
import { root } from './root.mjs'
import type { ServerReply, ServerRequest } from './server-messages.ts'

const PROGRAM = join(root, 'test/tools/shared-servers-main.ts')

/**
 * The servers that all test groups of a run share (test/tools/shared-server.ts). They run in a process group of their
 * own, which starts with the first request and ends with the run.
 */
export class SharedServers implements AsyncDisposable {
  readonly #addresses = new Map<string, Promise<ServerReply>>()
  readonly #env: NodeJS.ProcessEnv
  #child: ChildProcess | undefined

  /** `env` is added to the environment of the servers. */
  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env
  }

  /** Starts the server when this is the first request for it. */
  address({ name }: ServerRequest): Promise<ServerReply> {
    const known = this.#addresses.get(name) ?? this.#start(name)
    this.#addresses.set(name, known)
    return known
  }

  async #start(name: string): Promise<ServerReply> {
    const child = this.#launch()
    const { promise, resolve } = Promise.withResolvers<ServerReply>()
    const onReply = (reply: ServerReply) => {
      if (reply.name === name) resolve(reply)
    }
    const onExit = () => resolve({ kind: 'server', name, error: 'its process has ended' })
    child.on('message', onReply).once('exit', onExit)
    child.ref()
    child.channel?.ref()
    child.send({ kind: 'server', name } satisfies ServerRequest)
    const reply = await promise
    child.off('message', onReply).off('exit', onExit)
    // The exit of this process closes the channel, which ends the servers.
    child.unref()
    child.channel?.unref()
    return reply
  }

  #launch(): ChildProcess {
    this.#child ??= spawn(process.execPath, [PROGRAM], {
      cwd: root,
      detached: true,
      env: { ...process.env, ...this.#env },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    return this.#child
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.ref()
    const exited = once(child, 'exit')
    killProcessGroup(child)
    await exited
  }
}
