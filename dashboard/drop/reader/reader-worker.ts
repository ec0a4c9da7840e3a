import { digestAll, UnreadableSourceError } from './digest.ts'
import type { Digest, Fault, WorkerRequest, WorkerResponse, WorkerTask } from './messages.ts'
import type { ZipArchive } from './zip.ts'

// Reads files in a worker, so that the page stays responsive.

let zip: ZipArchive | undefined

addEventListener('message', ({ data }: MessageEvent<WorkerRequest>) => void handle(data))

async function handle(request: WorkerRequest): Promise<void> {
  const { id } = request
  const send = (response: WorkerResponse) => postMessage(response)
  try {
    const result = await work(request, (progress) => send({ id, progress }))
    // Bytes are transferred, not copied.
    const read = request.kind === 'digest' ? (result as Digest).bytes : []
    const transfer = [...new Set(read.flatMap((bytes) => bytes?.buffer ?? []))]
    postMessage({ id, result } satisfies WorkerResponse, { transfer })
  } catch (error) {
    send({ id, fault: toFault(error, request) })
  }
}

async function work(task: WorkerTask, onProgress: Parameters<typeof digestAll>[1]): Promise<unknown> {
  switch (task.kind) {
    case 'list':
      zip = await (await import('./zip.ts')).ZipArchive.open(task.zip)
      return zip.listing
    case 'inflate':
      return zip!.blob(task.entry)
    case 'digest':
      return digestAll(
        task.files.map(({ path, source }) => {
          return { path, source: typeof source === 'number' ? () => zip!.stream(source) : source }
        }),
        onProgress,
      )
  }
}

function toFault(error: unknown, { kind }: WorkerTask): Fault {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof UnreadableSourceError) return { kind: 'unreadable', message, at: error.at }
  return { kind: kind === 'list' ? 'zip' : 'unreadable', message }
}
