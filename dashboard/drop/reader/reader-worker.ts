import { digestAll, Unreadable } from './digest.ts'
import type { Asked, Digest, Fault, Question, Told } from './messages.ts'
import type { Zip } from './zip.ts'

// Reads files beside the page, so that the page stays quick whatever the files are.

let zip: Zip | undefined

addEventListener('message', ({ data }: MessageEvent<Asked>) => void answer(data))

async function answer(asked: Asked): Promise<void> {
  const { id } = asked
  const tell = (told: Told) => postMessage(told)
  try {
    const answer = await work(asked, (progress) => tell({ id, progress }))
    // Bytes are handed over, not copied.
    const read = asked.ask === 'digest' ? (answer as Digest).bytes : []
    const handed = [...new Set(read.flatMap((bytes) => bytes?.buffer ?? []))]
    postMessage({ id, answer } satisfies Told, { transfer: handed })
  } catch (error) {
    tell({ id, fault: faultOf(error, asked) })
  }
}

async function work(question: Question, tell: Parameters<typeof digestAll>[1]): Promise<unknown> {
  switch (question.ask) {
    case 'list':
      zip = await (await import('./zip.ts')).Zip.open(question.zip)
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

function faultOf(error: unknown, { ask }: Question): Fault {
  const why = error instanceof Error ? error.message : String(error)
  if (error instanceof Unreadable) return { kind: 'unreadable', why, at: error.at }
  return { kind: ask === 'list' ? 'zip' : 'unreadable', why }
}
