import { Worker } from 'node:worker_threads'
import { Component } from './component.ts'
import { ApiError } from './errors.ts'

interface WorkerThreadOptions {
  /** Answers each message with one, in their order. */
  program: URL
  /** Of a message, with the start of the thread. */
  timeoutMs: number
  idleTimeoutMs: number
  /** Of its heap. */
  memoryMb: number
}

type Call<Message, Answer> = PromiseWithResolvers<Answer> & { message: Message }

/** A thread that starts with the first message and ends soon after the last answer. */
export class WorkerThread<Message, Answer> extends Component<WorkerThreadOptions> implements Disposable {
  #worker: Worker | undefined
  readonly #calls: Call<Message, Answer>[] = []
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  /** Rejects when the thread ends or takes too long with this message: another one answers those after it. */
  call(message: Message): Promise<Answer> {
    if (this.#isClosed) return Promise.reject(stopping())
    const call = { ...Promise.withResolvers<Answer>(), message }
    this.#calls.push(call)
    if (!this.#worker) this.#start()
    else {
      this.#worker.postMessage(message)
      if (this.#calls.length === 1) this.#wait()
    }
    return call.promise
  }

  [Symbol.dispose](): void {
    this.#isClosed = true
    this.#end()
    for (const { reject } of this.#calls.splice(0)) reject(stopping())
  }

  /** Rejects all calls where the system has no room for a thread. */
  #start(): void {
    let worker: Worker
    try {
      const { program, memoryMb } = this.parts
      worker = new Worker(program, { resourceLimits: { maxOldGenerationSizeMb: memoryMb }, env: {} })
    } catch (error) {
      for (const { reject } of this.#calls.splice(0)) reject(error)
      return
    }
    this.#worker = worker
    worker.on('message', (answer: Answer) => {
      if (worker !== this.#worker) return
      this.#calls.shift()?.resolve(answer)
      this.#wait()
    })
    // Answers that were sent before an error may arrive after it, and before the exit.
    let failure = new Error('The thread ended')
    worker.on('error', (error: Error) => (failure = error))
    worker.on('exit', () => worker === this.#worker && this.#fail(failure))
    for (const { message } of this.#calls) worker.postMessage(message)
    this.#wait()
  }

  /** For an answer, or without calls for the next one. */
  #wait(): void {
    clearTimeout(this.#timer)
    const [call] = this.#calls
    const { timeoutMs, idleTimeoutMs } = this.parts
    if (call) {
      this.#worker?.ref()
      const late = () => call === this.#calls[0] && this.#fail(new Error(`no answer after ${timeoutMs} ms`))
      // An answer that arrived while other work delayed the timer is received before it.
      this.#timer = setTimeout(() => setImmediate(late), timeoutMs)
    } else {
      this.#worker?.unref()
      this.#timer = setTimeout(() => this.#end(), idleTimeoutMs).unref()
    }
  }

  #fail(error: unknown): void {
    this.#end()
    this.#calls.shift()?.reject(error)
    if (this.#calls.length > 0) this.#start()
  }

  #end(): void {
    clearTimeout(this.#timer)
    void this.#worker?.terminate()
    this.#worker = undefined
  }
}

function stopping(): ApiError {
  return new ApiError('UNAVAILABLE', 'The server is stopping. Try again shortly.', { retryAfterSeconds: 1 })
}
