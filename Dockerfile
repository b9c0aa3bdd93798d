# OneTool as a service: REST, MCP over HTTP and the web UI on port 8765.
#
#   docker build -t onetool .
#   docker run -p 127.0.0.1:8765:8765 -e ONETOOL_TOKEN -v onetool:/home/onetool onetool

FROM node:22-slim AS web
WORKDIR /web
COPY web/package.json web/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY web/ ./
# The types are committed; `just web` compares them with the routes.
RUN npx vite build --outDir /static --emptyOutDir

FROM python:3.13-slim AS wheel
COPY --from=ghcr.io/astral-sh/uv:0.13 /uv /bin/uv
WORKDIR /src
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY src/ src/
COPY --from=web /static/ src/onetool/interfaces/web/static/
RUN uv build --wheel --out-dir /wheels \
    && uv export --frozen --no-dev --no-default-groups --extra hosted --no-emit-project --output-file /wheels/locked.txt

FROM python:3.13-slim
COPY --from=wheel /wheels/ /wheels/
RUN pip install --no-cache-dir --disable-pip-version-check --require-hashes --requirement /wheels/locked.txt \
    && pip install --no-cache-dir --disable-pip-version-check --no-deps /wheels/*.whl \
    && rm -r /wheels \
    && useradd --create-home --uid 10001 onetool
USER onetool
WORKDIR /home/onetool
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8765/healthz', timeout=4)"]
# It accepts requests for localhost; --allow-host adds another name.
ENTRYPOINT ["onetool"]
CMD ["serve", "--host", "0.0.0.0"]
