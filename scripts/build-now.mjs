import { prepare } from './prepare.mjs'
import { main } from './setup-error.mjs'

// npm run build: prepares like npm start: builds what is stale.
await main(async () => void (await prepare()))
