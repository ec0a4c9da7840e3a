import { type ChildProcess, fork, type Serializable } from 'node:child_process'
import { once } from 'node:events'
import { getCompileCacheDir } from 'node:module'
import { setPriority } from 'node:os'
import { dirname } from 'node:path'
import { Component } from './component.ts'
import { ApiError } from './errors.ts'

interface WorkerProcessOptions {
  /** Answers each message with one, and exits with the channel, hence with the service. */
  program: URL
  idleTimeoutMs: number
  /** Where the system does not allow it, it runs at normal priority. */
  priority?: number
}

/** A program that starts with the first message and exits soon after the last answer. */
export class WorkerProcess<Message extends Serializable, Answer>
  extends Component<WorkerProcessOptions>
  implements Disposable
{
  #child: ChildProcess | undefined
  #idleTimer: NodeJS.Timeout | undefined
  #isClosed = false

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** One call at a time. Rejects when the process exits: the next call starts another one. UNAVAILABLE when none starts. */
  async call(message: Message): Promise<Answer> {
    clearTimeout(this.#idleTimer)
    this.#child ??= this.#start()
    const child = this.#child
    try {
      child.channel?.ref()
      child.ref()
      child.send(message)
      const [answer] = await once(child, 'message')
      return answer as Answer
    } catch (error) {
      this.#kill(child)
      throw error
    } finally {
      child.channel?.unref()
      child.unref()
      if (this.#child) this.#idleTimer = setTimeout(() => this.#end(), this.parts.idleTimeoutMs).unref()
    }
  }

  [Symbol.dispose](): void {
    this.#isClosed = true
    clearTimeout(this.#idleTimer)
    if (this.#child) this.#kill(this.#child)
  }

  #start(): ChildProcess {
    const { program, priority } = this.parts
    if (this.#isClosed) throw startFailure('it was ended')
    // It gets nothing of the environment, which contains secrets, but the cache of Node, if there is one.
    const cache = getCompileCacheDir()
    const child = fork(program, [], {
      env: cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) },
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    child.on('error', () => this.#forget(child))
    if (child.pid === undefined) throw startFailure('the system has no room for it')
    child.unref()
    // Ends the wait for an answer.
    child.on('exit', () => child.emit('error', new Error('The process exited during its work')))
    if (priority !== undefined) lowerPriority(child.pid, priority)
    return child
  }

  #end(): void {
    const child = this.#child
    if (child) this.#forget(child)
    child?.disconnect()
  }

  /** Ends the wait for an answer, too: at the lowest priority, an exit may take long. */
  #kill(child: ChildProcess): void {
    this.#forget(child)
    child.kill('SIGKILL')
    child.emit('error', new Error('The process was ended'))
  }

  #forget(child: ChildProcess): void {
    if (this.#child === child) this.#child = undefined
  }
}

function startFailure(why: string): ApiError {
  return new ApiError('UNAVAILABLE', `A process cannot start: ${why}`)
}

function lowerPriority(pid: number, priority: number): void {
  try {
    setPriority(pid, priority)
  } catch {}
}
