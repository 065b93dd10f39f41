# One image for every process: Node 24 runs the TypeScript sources as they are, so nothing is built or bundled.
FROM node:24-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --cache .npm-cache && rm -rf .npm-cache
COPY src ./src
COPY LICENSE ./
USER node
EXPOSE 8080 9464
ENTRYPOINT ["node"]
CMD ["src/gateway/main.ts"]
