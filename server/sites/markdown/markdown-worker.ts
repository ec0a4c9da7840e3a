import { parentPort, workerData } from 'node:worker_threads'
import { renderMarkdown } from './render-markdown.ts'

// Renders the text of `workerData`, apart from the event loop that serves requests: hostile input may take minutes. The
// first message begins its time: on a busy machine, loading takes longer than most renderings.
parentPort!.postMessage('ready')
parentPort!.postMessage(renderMarkdown(workerData as string))
