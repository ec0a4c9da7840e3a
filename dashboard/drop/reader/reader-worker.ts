import { digestAll, UnreadableSourceError } from './digest.ts'
import type { Digest, Fault, WorkerRequest, WorkerResponse, WorkerTask } from './messages.ts'
import type { ZipArchive } from './zip.ts'

// Reads files in a worker, so that the page stays responsive.

let zip: ZipArchive | undefined

addEventListener('message', ({ data }: MessageEvent<WorkerRequest>) => void handle(data))

async function handle(asked: WorkerRequest): Promise<void> {
  const { id } = asked
  const tell = (told: WorkerResponse) => postMessage(told)
  try {
    const answer = await work(asked, (progress) => tell({ id, progress }))
    // Bytes are transferred, not copied.
    const read = asked.ask === 'digest' ? (answer as Digest).bytes : []
    const handed = [...new Set(read.flatMap((bytes) => bytes?.buffer ?? []))]
    postMessage({ id, answer } satisfies WorkerResponse, { transfer: handed })
  } catch (error) {
    tell({ id, fault: toFault(error, asked) })
  }
}

async function work(question: WorkerTask, tell: Parameters<typeof digestAll>[1]): Promise<unknown> {
  switch (question.ask) {
    case 'list':
      zip = await (await import('./zip.ts')).ZipArchive.open(question.zip)
      return zip.listing
    case 'inflate':
      return zip!.blob(question.entry)
    case 'digest':
      return digestAll(
        question.sources.map((source) => (typeof source === 'number' ? () => zip!.stream(source) : source)),
        tell,
      )
  }
}

function toFault(error: unknown, { ask }: WorkerTask): Fault {
  const why = error instanceof Error ? error.message : String(error)
  if (error instanceof UnreadableSourceError) return { kind: 'unreadable', why, at: error.at }
  return { kind: ask === 'list' ? 'zip' : 'unreadable', why }
}
