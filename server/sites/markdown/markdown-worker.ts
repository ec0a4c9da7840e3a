import { parentPort, workerData } from 'node:worker_threads'
import { renderMarkdown } from './render-markdown.ts'

// Renders the text of `workerData`, apart from the event loop that serves requests: hostile input may take minutes.
parentPort!.postMessage(renderMarkdown(workerData as string))
