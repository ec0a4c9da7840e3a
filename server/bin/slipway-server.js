#!/usr/bin/env node
// Plain JavaScript, so that with a warm cache nothing has to be compiled or stripped of types at a start.
import { enableCompileCache } from 'node:module'

enableCompileCache()
await import('../main.ts')
