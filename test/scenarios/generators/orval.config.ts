export default {
  onceover: {
    input: './openapi.json',
    output: {
      mode: 'tags-split',
      client: 'fetch',
      target: './generated/orval/client.ts',
      schemas: './generated/orval/model',
      baseUrl: { getBaseUrlFromSpecification: true },
    },
  },
}
