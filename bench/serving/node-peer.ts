import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

type Handle = (request: IncomingMessage, response: ServerResponse) => void

type Modules = {
  sirv: { default: (folder: string, options: object) => Handle }
  'serve-handler': {
    default: (request: IncomingMessage, response: ServerResponse, options: object) => Promise<void>
  }
}

const [name, folder, port] = process.argv.slice(2) as [keyof Modules, string, string]

createServer(await createHandler(name))
  .on('connection', (socket) => socket.setNoDelay(true))
  .listen(Number(port), '127.0.0.1')

/** Configured according to its documentation, with entity tags. */
async function createHandler(name: keyof Modules): Promise<Handle> {
  const module: unknown = await import(name)
  if (name === 'sirv') return (module as Modules['sirv']).default(folder, { etag: true })
  const handle = (module as Modules['serve-handler']).default
  const options = { public: folder, etag: true, cleanUrls: false, directoryListing: false }
  return (request, response) => void handle(request, response, options)
}
