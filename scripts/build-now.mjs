import { build } from './build.mjs'
import { main } from './unprepared.mjs'

// npm run build: the client and the dashboard, where they are stale.
await main(build)
